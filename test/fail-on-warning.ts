// Turns a warning about leaked listeners into a failed run: Node only prints it.

const marker = Symbol.for("turnwright.test.fail-on-warning");

// Test files that share a process load this file again.
if (!Reflect.has(process, marker)) {
  Reflect.set(process, marker, true);
  process.on("warning", (warning) => {
    if (warning.name === "MaxListenersExceededWarning") throw warning;
  });
}
