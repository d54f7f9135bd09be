// Package port builds other projects' packages with some of their code replaced by ours.
//
// A file NAME.port names the lines of their NAME.go to remove, and contains ours:
//
//	# a remark
//	@3-5   lines 3 to 5 go
//	@7+    what follows comes after line 7
//	+text  a line of ours, where the last @ was
//
// Their code is never copied: it is read from the module cache, and the files that are built exist only during the
// build, as an overlay. A file that is removed completely is not built.
package port
