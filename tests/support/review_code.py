"""Code in ten languages for tests of the reviewer, and the symbols in it."""

PYTHON = """\
import os
from a import (
    b,
)
# about A
@dec
class A:
    @property
    def m(self):
        def inner():
            return 1 if x else 2
        return inner

async def f(): pass
"""

TYPESCRIPT = """\
import {a} from "b";
export class A<T> {
  @Dec()
  m(a: string): void { if (a && b) {} }
  arrow = () => 1;
}
export const f = async (x: number) => {
  return x ? 1 : 2;
};
const g = 1, h = () => 2;
export default function main() {}
interface I { a: string }
// doc
module.exports.foo = function () {};
"""

TSX = """\
export const App = () => <div onClick={() => go()}>x</div>;
export default class B extends C { render() { return <a/>; } }
"""

JAVASCRIPT = """\
class A { #p() {} static q = () => 1; }
function* gen() {}
const o = { key: () => 1, meth() {} };
"""

GO = """\
package x
import (
	"fmt"
)
// Serve does.
func (s *Server[T]) Serve(a int) error {
	if a > 1 && b {
	}
}
func main() {}
type Server struct {
	a int
}
"""

RUST = """\
use std::io;
/// doc
#[derive(Debug)]
pub struct P<T> { a: T }
impl<T> P<T> {
    #[inline]
    pub fn m(&self) {}
}
mod tests {
    #[test]
    fn t() {}
}
"""

JAVA = """\
package a.b;
import java.util.*;
public class A {
  /** doc */
  @Override
  public int m(int a) {
  }
  A() {}
  enum E { X }
}
"""

C = """\
#include <x.h>
static int *f(int a)
{
  if (a) return 0;
}
struct s { int a; };
int (*fp(void))(int) { return 0; }
#define M(x) (x+1)
"""

CPP = """\
namespace n {
template <class T>
class A : B { public: void m() const {} ~A() {} };
}
void n::A<int>::m2() {}
"""

RUBY = """\
require "x"
module M
  class A < B
    # doc
    def m(a)
    end
    def self.s; end
  end
end
"""

CODE = {
    "python": (PYTHON, ["A class 5 12", "A.m method 8 12", "A.m.inner function 10 11", "f function 14 14"]),
    "typescript": (
        TYPESCRIPT,
        [
            "A class 2 6",
            "A.m method 3 4",
            "A.arrow method 5 5",
            "f function 7 9",
            "h function 10 10",
            "main function 11 11",
            "I class 12 12",
            "foo function 13 14",
        ],
    ),
    "tsx": (TSX, ["App function 1 1", "B class 2 2", "B.render method 2 2"]),
    "javascript": (
        JAVASCRIPT,
        [
            "A class 1 1",
            "A.#p method 1 1",
            "A.q method 1 1",
            "gen function 2 2",
            "key function 3 3",
            "meth function 3 3",
        ],
    ),
    "go": (GO, ["Server.Serve method 5 9", "main function 10 10", "Server class 11 13"]),
    "rust": (
        RUST,
        ["P class 2 4", "P class 5 8", "P.m method 6 7", "tests module 9 12", "tests.t function 10 11"],
    ),
    "java": (JAVA, ["A class 3 10", "A.m method 4 7", "A.A method 8 8", "A.E class 9 9"]),
    "c": (C, ["f function 2 5", "s class 6 6", "fp function 7 7"]),
    "cpp": (
        CPP,
        ["n module 1 4", "n.A class 2 3", "n.A.m method 3 3", "n.A.~A method 3 3", "n.A.m2 method 5 5"],
    ),
    "ruby": (RUBY, ["M module 2 9", "M.A class 3 8", "M.A.m method 4 6", "M.A.s method 7 7"]),
}
"""The text of each language, and `name kind first last` of its symbols."""
