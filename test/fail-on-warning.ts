// Fails the test run if Node warns about leaked listeners. By default, Node only prints the warning.

const marker = Symbol.for("turnwright.test.fail-on-warning");

// Several test files of one process load this module, but the listener must be added only once.
if (!Reflect.has(process, marker)) {
  Reflect.set(process, marker, true);
  process.on("warning", (warning) => {
    if (warning.name === "MaxListenersExceededWarning") throw warning;
  });
}
