package port

import "testing"

func TestApply(t *testing.T) {
	text := "one\ntwo\nthree\nfour\nfive\n"
	for _, c := range []struct {
		port, want string
		lines      Lines
	}{
		{"# nothing\n", text, Lines{}},
		{"@2-3\n+new\n@5+\n+six\n", "one\nnew\nfour\nfive\nsix\n", Lines{2, 2}},
		{"@0+\n+zero\n@1-1\n@1+\n+1\n", "zero\n1\ntwo\nthree\nfour\nfive\n", Lines{1, 2}},
		{"@1-5\n", "", Lines{5, 0}},
	} {
		got, lines, err := Apply(text, c.port)
		if err != nil || got != c.want || lines != c.lines {
			t.Errorf("%q gives %q, %v, %v", c.port, got, lines, err)
		}
	}
	for _, wrong := range []string{"", "two\n", "@6+\n", "@5-6\n", "@3-2\n", "@2-3\n@2+\n", "@2\n", "@2-3 \n", "@-1+\n", "\n"} {
		if got, _, err := Apply(text, wrong); err == nil {
			t.Errorf("%q gives %q", wrong, got)
		}
	}
}
