module github.com/etcdfence/etcdfence/examples

go 1.26.0

require (
	github.com/etcdfence/etcdfence v0.0.0
	github.com/etcdfence/etcdfence/fence v0.0.0
)

replace (
	github.com/etcdfence/etcdfence => ..
	github.com/etcdfence/etcdfence/fence => ../fence
)
