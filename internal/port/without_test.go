package port

import "testing"

func TestWithout(t *testing.T) {
	const text = "package p\n\nimport (\n\t\"a\"\n\tb \"b/x\"\n\t\"c/v2\"\n\t\"d/v1\"\n)\n\nfunc F() { a.X() }\n\nfunc G() { b.X(); c.X(); v1.X() }\n"
	const want = "package p\n\nimport (\n\tb \"b/x\"\n\t\"c/v2\"\n\t\"d/v1\"\n)\n\nfunc G() { b.X(); c.X(); v1.X() }\n"
	if got, err := Without(text, "F"); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Without(text, "H"); err == nil {
		t.Errorf("%q", got)
	}
	if got, err := Without("package"); err == nil {
		t.Errorf("%q", got)
	}
}
