"""Sources in many languages, and where a reader would cut them, single lines apart."""

SOURCES = {
    "python": '''\
"""Doc."""

import a
import b

# one
X = 1
Y = [
    1,
    2,
]


# A comment.
@dec
@dec2
class Tok(Base):
    """Doc
    of it."""

    # about x
    x = 1
    y = 2

    def __init__(self):  # trailing
        self.x = 1
        if a:
            b()
            c()
        else:
            d()

    @property
    def encode(self, x):
        return x

async def f():
    pass

if __name__ == "__main__":
    f()
''',
    "javascript": """\
import a from "b";

/** doc */
class A extends B {
  #x = 1;

  m() {
    return 1;
  }

  static k = () => {
    l();
  };
}

function f(a) {
  if (a) {
    g();
    h();
  } else {
    k();
  }
  return a;
}

module.exports = {
  A,
  f,
};
""",
    "typescript": """\
import a from "b";

export const f = () => {
  g();
  h();
};

/** doc */
export class A {
  x = 1;

  m() {
    return 1;
  }
}
@D()
class B {
  k() {
    x;
  }
}

describe("x", () => {
  it("a", () => {
    e();
  });

  it("b", () => {
    e();
  });
});
""",
    "tsx": """\
import React from "react";

type Props = {
  a: string;
  b: number;
};

export function App({ a }: Props) {
  const x = 1;
  return (
    <div>
      <p>{a}</p>
      <p>{x}</p>
    </div>
  );
}
""",
    "java": """\
package a;
import b;

/** doc */
@X
class A {
  int x = 1;

  @Override
  public void f() {
    g();
    h();
  }

  // k
  void k() {
    l();
  }
}
""",
    "c": """\
#include <stdio.h>
#include "x.h"

/* A point. */
struct point {
  int x;
  int y;
};

static int total;

// Adds.
int add(int a, int b)
{
  int c = a + b;
  return c;
}

int main(void) {
  while (1) {
    add(1, 2);
    add(3, 4);
  }
}
""",
    "cpp": """\
#include <a>
#ifndef X
namespace a {
// c
template <class T>
class B : public C {
 public:
  int f();
  void g() {
    h();
  }
};

int f(int x) {
  g();
}
}
#endif
""",
    "csharp": """\
using A;

namespace B
{
  // c
  [X]
  public class C
  {
    int x;
    void F()
    {
      g();
      h();
    }

    public int G(int a)
    {
      g();
    }
  }
}
""",
    "go": """\
package a

import (
	"b"
	"c"
)

// d
func (r *T) F(x int) {
	g()
	h()
}

type T struct {
	x int
	y int
}
""",
    "rust": """\
use a;

#[derive(X)]
pub struct A {
    a: u8,
    b: u8,
}

impl A {
    /// d
    #[inline]
    pub fn f(&self) {
        g();
    }

    fn g() {
        h();
    }
}
mod t {
 use x;
 fn k() {
   l();
 }
}
""",
    "ruby": """\
require "a"

# c
class A
  attr :x

  def f
    g
    h
  end

  def k
    l
  end
end
""",
    "php": """\
<?php
namespace A;
use B;

/** c */
#[X]
class C {
  public $x = 1;
  function f() {
    g();
  }
}
""",
    "kotlin": """\
package a

// c
@X
class A {
  val x = 1
  @Y
  fun f() {
    g()
    h()
  }
}
""",
    "swift": """\
import A

/// c
@X
class A {
  let x = 1
  func f() {
    g()
    h()
  }
}
""",
    "scala": """\
package a

/** c */
@X
class A {
  val x = 1
  def f() = {
    g()
    h()
  }
}
object B {
  def k = 1
}
""",
    "bash": """\
#!/bin/bash
set -e
# c
f() {
  a
  b
}

if x; then
  y
fi
""",
    "sql": """\
-- c
CREATE TABLE a (
  b int,
  c int
);

SELECT a,
  b
FROM c
WHERE d;
""",
    "html": """\
<!doctype html>
<html>
<head>
<title>x</title>
</head>
<body>
<p>a
b</p>
<ul>
<li>x</li>
<li>y</li>
</ul>
</body>
</html>
""",
    "css": """\
/* c */
a,
b {
  x: y;
}

@media x {
  a { b: c }
  d {
    e: f;
  }
}
""",
    "json": """\
{
  "a": 1,
  "b": {
    "c": 2,
    "d": [
      {
        "e": 1
      },
      {
        "f": 1
      }
    ]
  },
  "g": 3
}
""",
    "yaml": """\
# c
a: 1
b:
  - c
  - d: 2
    e: 3
f:
  g: h
""",
}

CUTS = {
    "python": [
        ("definition", "import a"),
        ("statement", "import b"),
        ("definition", "# one"),
        ("definition", "Y = ["),
        ("statement", "2,"),
        ("definition", "# A comment."),
        ("member", "# about x"),
        ("statement", "y = 2"),
        ("member", "def __init__(self):  # trailing"),
        ("statement", "if a:"),
        ("inner 1", "c()"),
        ("member", "@property"),
        ("definition", "async def f():"),
        ("definition", 'if __name__ == "__main__":'),
    ],
    "javascript": [
        ("definition", "/** doc */"),
        ("member", "m() {"),
        ("member", "static k = () => {"),
        ("definition", "function f(a) {"),
        ("inner 1", "h();"),
        ("statement", "return a;"),
        ("definition", "module.exports = {"),
        ("statement", "f,"),
    ],
    "typescript": [
        ("definition", "export const f = () => {"),
        ("statement", "h();"),
        ("definition", "/** doc */"),
        ("member", "m() {"),
        ("definition", "@D()"),
        ("definition", 'describe("x", () => {'),
        ("statement", 'it("b", () => {'),
    ],
    "tsx": [
        ("definition", "type Props = {"),
        ("statement", "b: number;"),
        ("definition", "export function App({ a }: Props) {"),
        ("statement", "return ("),
        ("inner 1", "<p>{x}</p>"),
    ],
    "java": [
        ("statement", "import b;"),
        ("definition", "/** doc */"),
        ("member", "@Override"),
        ("statement", "h();"),
        ("member", "// k"),
    ],
    "c": [
        ("statement", '#include "x.h"'),
        ("definition", "/* A point. */"),
        ("statement", "int y;"),
        ("definition", "static int total;"),
        ("definition", "// Adds."),
        ("statement", "return c;"),
        ("definition", "int main(void) {"),
        ("statement", "add(3, 4);"),
    ],
    "cpp": [
        ("definition", "#ifndef X"),
        ("member", "void g() {"),
        ("definition", "int f(int x) {"),
    ],
    "csharp": [
        ("definition", "namespace B"),
        ("member", "void F()"),
        ("statement", "h();"),
        ("member", "public int G(int a)"),
    ],
    "go": [
        ("definition", "import ("),
        ("statement", '"c"'),
        ("definition", "// d"),
        ("statement", "h()"),
        ("definition", "type T struct {"),
        ("statement", "y int"),
    ],
    "rust": [
        ("definition", "#[derive(X)]"),
        ("statement", "b: u8,"),
        ("definition", "impl A {"),
        ("member", "fn g() {"),
        ("definition", "mod t {"),
        ("definition", "fn k() {"),
    ],
    "ruby": [
        ("definition", "# c"),
        ("member", "def f"),
        ("statement", "h"),
        ("member", "def k"),
    ],
    "php": [
        ("statement", "namespace A;"),
        ("statement", "use B;"),
        ("definition", "/** c */"),
        ("member", "function f() {"),
    ],
    "kotlin": [
        ("definition", "// c"),
        ("member", "@Y"),
        ("statement", "h()"),
    ],
    "swift": [
        ("definition", "/// c"),
        ("member", "func f() {"),
        ("statement", "h()"),
    ],
    "scala": [
        ("definition", "/** c */"),
        ("member", "def f() = {"),
        ("statement", "h()"),
        ("definition", "object B {"),
    ],
    "bash": [
        ("definition", "# c"),
        ("statement", "b"),
        ("definition", "if x; then"),
    ],
    "sql": [
        ("statement", "c int"),
        ("definition", "SELECT a,"),
        ("member", "FROM c"),
        ("statement", "WHERE d;"),
    ],
    "html": [
        ("definition", "<html>"),
        ("member", "<body>"),
        ("statement", "<ul>"),
        ("inner 1", "<li>y</li>"),
    ],
    "css": [
        ("definition", "@media x {"),
        ("member", "d {"),
    ],
    "json": [
        ("definition", '"b": {'),
        ("member", '"d": ['),
        ("statement", "{"),
        ("definition", '"g": 3'),
    ],
    "yaml": [
        ("definition", "b:"),
        ("member", "- d: 2"),
        ("definition", "f:"),
    ],
}
