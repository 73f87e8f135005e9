module simidx/example

go 1.19
