module hermes.example/hermes/test/escape/evaluator

go 1.26.0

tool github.com/genuinetools/amicontained

require github.com/genuinetools/amicontained v0.4.9 // indirect

require (
	github.com/genuinetools/pkg v0.0.0-20180910213200-1c141f661797 // indirect
	github.com/jessfraz/bpfd v0.0.0-20180918065159-854869239e70 // indirect
	github.com/sirupsen/logrus v1.0.6 // indirect
	github.com/syndtr/gocapability v0.0.0-20180916011248-d98352740cb2 // indirect
	github.com/tv42/httpunix v0.0.0-20150427012821-b75d8614f926 // indirect
	golang.org/x/crypto v0.0.0-20180910181607-0e37d006457b // indirect
	golang.org/x/sys v0.0.0-20180925112736-b09afc3d579e // indirect
)
