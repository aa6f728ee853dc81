module github.com/etcdfence/etcdfence/fence

go 1.26
