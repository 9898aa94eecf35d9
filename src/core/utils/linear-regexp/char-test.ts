// One character of a pattern: "a", ".", "\d", "[^x-z]", "\p{L}". The platform's own RegExp says what it takes, which on a single
// character has nowhere to go back to, and so every flag, class and letter case means what it means in JavaScript.

/** Looks at one character: a code point with the flag u, else a UTF-16 unit. */
export interface CharTest {
  matches(code: number): boolean;
}

/** What is tested, as it stands in the pattern. `flags` may hold i, s and u. Throws a SyntaxError where the platform knows no such thing. */
export function createCharTest(source: string, flags: string): CharTest {
  const native = new RegExp(`^${source}$`, flags);
  // All threads at a place of the text look at the same character, so that one answer is enough to remember.
  let lastCode = -1;
  let lastAnswer = false;
  return {
    matches(code) {
      if (code !== lastCode) {
        lastAnswer = native.test(String.fromCodePoint(code));
        lastCode = code;
      }
      return lastAnswer;
    },
  };
}
