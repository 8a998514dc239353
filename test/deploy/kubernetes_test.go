package deploy

import (
	"slices"
	"strings"
	"testing"
)

// manifest is the part of Kubernetes' objects that ours use.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		ServiceName string `yaml:"serviceName"`
		Replicas    int    `yaml:"replicas"`
		Ports       []struct {
			Port       int    `yaml:"port"`
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
		Selector map[string]any `yaml:"selector"`
		Template struct {
			Metadata struct {
				Labels map[string]string `yaml:"labels"`
			} `yaml:"metadata"`
			Spec pod `yaml:"spec"`
		} `yaml:"template"`
		Claims []struct {
			Metadata struct {
				Name string `yaml:"name"`
			} `yaml:"metadata"`
		} `yaml:"volumeClaimTemplates"`
	} `yaml:"spec"`
}

type pod struct {
	Security    security         `yaml:"securityContext"`
	Token       *bool            `yaml:"automountServiceAccountToken"`
	HostNetwork bool             `yaml:"hostNetwork"`
	HostPID     bool             `yaml:"hostPID"`
	HostIPC     bool             `yaml:"hostIPC"`
	Containers  []container      `yaml:"containers"`
	Volumes     []map[string]any `yaml:"volumes"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	Ports []struct {
		Name string `yaml:"name"`
		Port int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Security  security `yaml:"securityContext"`
	Startup   probe    `yaml:"startupProbe"`
	Readiness probe    `yaml:"readinessProbe"`
	Liveness  probe    `yaml:"livenessProbe"`
	Mounts    []mount  `yaml:"volumeMounts"`
}

type mount struct {
	Name string `yaml:"name"`
	Path string `yaml:"mountPath"`
}

type probe struct {
	Exec struct {
		Command []string `yaml:"command"`
	} `yaml:"exec"`
}

type security struct {
	RunAsNonRoot   bool  `yaml:"runAsNonRoot"`
	RunAsUser      int64 `yaml:"runAsUser"`
	FSGroup        int64 `yaml:"fsGroup"`
	Privileged     bool  `yaml:"privileged"`
	Escalation     *bool `yaml:"allowPrivilegeEscalation"`
	ReadOnlyRoot   bool  `yaml:"readOnlyRootFilesystem"`
	SeccompProfile struct {
		Type string `yaml:"type"`
	} `yaml:"seccompProfile"`
	Capabilities struct {
		Add  []string `yaml:"add"`
		Drop []string `yaml:"drop"`
	} `yaml:"capabilities"`
}

// workload is the pod's owner of a manifest.
func workload(t *testing.T, path string) manifest {
	t.Helper()
	all := parse[manifest](t, path)
	i := slices.IndexFunc(all, func(m manifest) bool { return m.Kind == "StatefulSet" })
	if i < 0 || len(all[i].Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%s has no StatefulSet with one container", path)
	}
	return all[i]
}

// One pod that keeps its volume, is asked how it is by hermes itself, and whose service leads to its ports.
func TestTheManifests(t *testing.T) {
	for _, path := range manifests(t) {
		set := workload(t, path)
		c := set.Spec.Template.Spec.Containers[0]
		if set.APIVersion != "apps/v1" || set.Spec.Replicas != 1 {
			t.Errorf("%s: %s with %d pods on one volume", path, set.APIVersion, set.Spec.Replicas)
		}
		for what, p := range map[string]struct {
			probe
			want string
		}{"ready": {c.Readiness, "hermes health"}, "alive": {c.Liveness, "hermes service ls"}, "started": {c.Startup, "hermes service ls"}} {
			if got := strings.Join(p.Exec.Command, " "); got != p.want {
				t.Errorf("%s: whether it is %s is asked by %q", path, what, got)
			}
		}
		var volumes []string
		for _, v := range set.Spec.Template.Spec.Volumes {
			volumes = append(volumes, v["name"].(string))
		}
		for _, claim := range set.Spec.Claims {
			volumes = append(volumes, claim.Metadata.Name)
		}
		for _, m := range c.Mounts {
			if !slices.Contains(volumes, m.Name) {
				t.Errorf("%s: %s is mounted and not there", path, m.Name)
			}
		}
		if len(set.Spec.Claims) != 1 || c.mountedAt("/opt/data") != set.Spec.Claims[0].Metadata.Name {
			t.Errorf("%s: the data is on no volume that stays", path)
		}
		checkService(t, path, set, c)
	}
}

func checkService(t *testing.T, path string, set manifest, c container) {
	t.Helper()
	all := parse[manifest](t, path)
	i := slices.IndexFunc(all, func(m manifest) bool { return m.Kind == "Service" && m.Metadata.Name == set.Spec.ServiceName })
	if i < 0 {
		t.Errorf("%s has no service %s", path, set.Spec.ServiceName)
		return
	}
	for label, value := range all[i].Spec.Selector {
		if set.Spec.Template.Metadata.Labels[label] != value {
			t.Errorf("%s: the service does not find the pod by %s", path, label)
		}
	}
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.Port
	}
	for _, p := range all[i].Spec.Ports {
		if ports[p.TargetPort] != p.Port {
			t.Errorf("%s: port %d of the service leads to %q", path, p.Port, p.TargetPort)
		}
	}
}

// What the Pod Security Standard "restricted" demands, and a root that cannot be written.
func TestTheRestrictedManifestIsRestricted(t *testing.T) {
	p := workload(t, "image/kubernetes/restricted.yaml").Spec.Template.Spec
	c := p.Containers[0]
	for what, holds := range map[string]bool{
		"no namespace of the host":           !p.HostNetwork && !p.HostPID && !p.HostIPC,
		"not privileged":                     !c.Security.Privileged,
		"no more rights than at the start":   c.Security.Escalation != nil && !*c.Security.Escalation,
		"not root":                           p.Security.RunAsNonRoot && p.Security.RunAsUser > 0,
		"seccomp":                            p.Security.SeccompProfile.Type == "RuntimeDefault",
		"no capability":                      slices.Equal(c.Security.Capabilities.Drop, []string{"ALL"}) && len(c.Security.Capabilities.Add) == 0,
		"a root that cannot be written":      c.Security.ReadOnlyRoot,
		"a volume that the group can write":  p.Security.FSGroup > 0,
		"no token for the cluster":           p.Token != nil && !*p.Token,
		"places for sockets and for scratch": c.mountedAt("/run") != "" && c.mountedAt("/tmp") != "",
	} {
		if !holds {
			t.Errorf("it lacks: %s", what)
		}
	}
	allowed := []string{"name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
	for _, volume := range p.Volumes {
		for kind := range volume {
			if !slices.Contains(allowed, kind) {
				t.Errorf("the volume %v is a %s", volume["name"], kind)
			}
		}
	}
}

// mountedAt is the name of the volume at a path.
func (c container) mountedAt(path string) string {
	for _, m := range c.Mounts {
		if m.Path == path {
			return m.Name
		}
	}
	return ""
}
