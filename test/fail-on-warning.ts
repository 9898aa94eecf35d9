// Fails the test run if Node warns about leaked listeners. By default, Node only prints the warning.

const marker = Symbol.for("turnwright.test.fail-on-warning");

// Several test files of one process load this module, but the process needs only one listener.
if (!Reflect.has(process, marker)) {
  Reflect.set(process, marker, true);
  process.on("warning", (warning) => {
    if (warning.name === "MaxListenersExceededWarning") throw warning;
  });
}
