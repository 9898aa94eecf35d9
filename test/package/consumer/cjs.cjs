const { exercise } = require("./exercise.cjs");

void exercise(require("turnwright"), require("turnwright/testing"), require("turnwright/openai")).then(() =>
  console.log("ran as CommonJS"),
);
