package cgroup

import "errors"

// Own returns the directory of the cgroup v2 that this process is in, if it may make groups there. It is for those
// who want to know the members of what they start, and set no limits.
func Own() (string, error) {
	sys, err := detect()
	if err != nil {
		return "", err
	}
	if sys.own == "" {
		return "", errors.New("cannot use a cgroup: the own one is outside what is mounted")
	}
	return sys.own, errors.Join(writable(sys.own), writable(sys.own+"/cgroup.procs"))
}
