module github.com/etcdfence/etcdfence/tools

go 1.26.0
