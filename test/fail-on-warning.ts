// Turns a warning about leaked listeners into a failed run: Node only prints it.

process.on("warning", (warning) => {
  if (warning.name === "MaxListenersExceededWarning") throw warning;
});
