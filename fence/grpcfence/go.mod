module github.com/etcdfence/etcdfence/fence/grpcfence

go 1.26.0

require (
	github.com/etcdfence/etcdfence/fence v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d
	google.golang.org/grpc v1.83.2
	google.golang.org/protobuf v1.36.11
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/etcdfence/etcdfence/fence => ../
