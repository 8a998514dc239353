package containerargs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestWhatCannotBeIsRefusedByName(t *testing.T) {
	for args, want := range map[string]string{
		"--rm":                                 "--rm in docker_extra_args: Hermes decides",
		"-d":                                   "--detach",
		"-it":                                  "--interactive",
		"-t":                                   "--tty",
		"--name x":                             "--name",
		"--entrypoint=sh":                      "--entrypoint",
		"--restart always":                     "--restart",
		"--pull always":                        "docker pull",
		"--pid host":                           "--pid",
		"-P":                                   "--publish-all",
		"--oom-kill-disable":                   "hang for ever",
		"--platform linux/arm64":               "--platform",
		"--frobnicate 3":                       "--frobnicate in docker_extra_args: it is not known here",
		"--frobnicate=3":                       "cannot use --frobnicate in",
		"-x":                                   "cannot use -x in",
		"-Px":                                  "--publish-all",
		"--shm-size":                           "--shm-size in docker_extra_args: its value is missing",
		"-e":                                   "--env in docker_extra_args: its value is missing",
		"busybox":                              "entry 1 of docker_extra_args: it stands alone",
		"busybox --read-only":                  "entry 1 of",
		"--privileged busybox":                 "entry 2 of",
		"--privileged false":                   "entry 2 of",
		"-- busybox":                           "entry 2 of",
		"-":                                    "entry 1 of",
		"---x":                                 "no flag",
		"--=x":                                 "no flag",
		"-test.v":                              "no flag of docker run",
		"--privileged=maybe":                   "neither true nor false",
		"--rm=maybe":                           "neither true nor false",
		"--cap-add SYS_EVERYTHING":             `"SYS_EVERYTHING" is not a capability`,
		"--cap-add A,B":                        "is not a capability",
		"--cap-add KILL --cap-drop kill":       "both added and dropped",
		"--security-opt seccomp=/none":         "cannot read the seccomp profile",
		"--security-opt systempaths=x":         "can only be unconfined",
		"--security-opt writable-cgroups=true": `"writable-cgroups" is not known`,
		"--security-opt no-new-privileges=x":   "neither true nor false",
		"--security-opt label=x":               "SELinux",
		"--userns keep-id":                     "user namespace",
		"--uts private":                        "UTS namespace",
		"--ipc what":                           "IPC namespace",
		"--network a --network b":              "one network",
		"--network name=a,ip=10.0.0.1":         "its name alone",
		"--network=":                           "it is empty",
		"--ip 10.0.0.1":                        "a network with a name",
		"--ip 10.0.0 --network n":              "is not an IPv4 address",
		"--ip6 10.0.0.1 --network n":           "is not an IPv6 address",
		"--network none -p 80":                 "ports can only be published",
		"--network host -p 80":                 "ports can only be published",
		"--network container:a -p 80":          "ports can only be published",
		"-p 80:81-82":                          "equally many",
		"-p 1-2000:1-2000":                     "more than 1000",
		"-p 0":                                 "is not a port",
		"-p x:80":                              "is not a port",
		"-p 300.1.1.1:80:80":                   "is not an address",
		"-p [::1:80:80":                        "bracket",
		"-p 80/icmp":                           "not a port to publish",
		"-p 80:80 -p 80:81":                    "two ports are published as 80",
		"-p published=80,target=80":            "HOST:PORT",
		"--memory lots":                        "not a size",
		"--memory -1":                          "not a size",
		"--memory 99999999999p":                "not a size",
		"--shm-size 4q":                        "--shm-size",
		"--cpus many":                          "number of processors",
		"--cpus 1e3":                           "number of processors",
		"--cpus -1":                            "number of processors",
		"--pids-limit -2":                      "number of processes",
		"--memory-reservation -1":              "negative",
		"--oom-score-adj 2000":                 "between -1000 and 1000",
		"--oom-score-adj x":                    "whole number",
		"-c x":                                 "whole number",
		"--ulimit nofile=5:2":                  "NAME=SOFT",
		"--ulimit files=5":                     "NAME=SOFT",
		"--cpuset-cpus a":                      "set of processors",
		"--storage-opt dm.size=1g":             `"dm.size"`,
		"-v /data":                             "without a name",
		"-v data":                              "without a name",
		"-v /a:b":                              "not absolute",
		"-v /a:/proc/x":                        "belongs to the sandbox",
		"-v a:/dev":                            "belongs to the sandbox",
		"-v /a:/b:z":                           "labels of the host's files",
		"-v /a:/b:rshared":                     `option "rshared"`,
		"-v /a:/b:nocopy":                      "not all of it",
		"-v C:/a:/b":                           "Windows",
		`-v C:\a:/b`:                           "Windows",
		"-v a:/b:ro:x":                         "SOURCE:TARGET",
		"-v /a:/b -v /c:/b/":                   "two mounts at",
		"-v /a:/b --tmpfs /b":                  "two mounts at",
		"--mount type=npipe,src=a,dst=/b":      `"npipe"`,
		"--mount type=bind,src=/a,dst=/b,bind-propagation=shared": `"shared"`,
		"--mount type=bind,src=/a,dst=/b,tmpfs-size=1g":           "not all of it",
		"--mount type=tmpfs,dst=/b,tmpfs-mode=9":                  "octal",
		"--mount type=volume,dst=/b":                              "without a name",
		"--mount type=volume,src=a,dst=/b,volume-opt=x":           `"volume-opt"`,
		"--mount type=bind,dst=/b":                                "no path",
		"--tmpfs /proc":                                           "belongs to the sandbox",
		"--tmpfs /x:remount":                                      `"remount"`,
		"--device fuse":                                           "paths of devices",
		"--device /dev/x:/dev/y:z":                                "no way to use",
		"--device /a:/b:r:w":                                      "SOURCE[:TARGET]",
		"--device-cgroup-rule x":                                  "rule for devices",
		"--gpus 0":                                                "number of GPUs",
		"--gpus all,x":                                            `field "x"`,
		"--user me":                                               "is not a user",
		"-w work":                                                 "not absolute",
		"--add-host a":                                            "NAME:ADDRESS",
		"--add-host a:b":                                          "name and address",
		"--dns x":                                                 "name server",
		"--label hermes-agent=1":                                  "Hermes' own",
		"--env-file /none/such":                                   "--env-file",
		"--env-file /":                                            "is not a file",
		"--hostname a_/b":                                         "is not a host name",
		"--uts host -h x":                                         "host's own name",
		"--mac-address x --network n":                             "MAC",
	} {
		got, _, err := Parse(entries(strings.Fields(args)...), lookup)
		switch {
		case err == nil:
			t.Errorf("%q was taken as %s", args, show(got))
		case !strings.HasPrefix(err.Error(), "cannot use ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%q: %q does not say %q in one line", args, err, want)
		case !reflect.DeepEqual(got, Result{}):
			t.Errorf("%q: an error with a result", args)
		}
	}
}

func TestEveryRefusalSaysWhatToDo(t *testing.T) {
	for name, why := range refused {
		args := []string{"--" + name}
		if !slices.Contains(withoutValue, name) {
			args = append(args, "x")
		}
		_, _, err := Parse(entries(args...), lookup)
		if err == nil || !strings.HasPrefix(err.Error(), "cannot use --"+name+" in docker_extra_args: ") || !strings.Contains(why, "; ") {
			t.Errorf("--%s: %v", name, err)
		}
	}
}
