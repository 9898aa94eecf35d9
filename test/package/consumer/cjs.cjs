const { exercise } = require("./exercise.cjs");

exercise(require("turnwright"), require("turnwright/testing"), require("turnwright/openai")).then(() =>
  console.log("ran as CommonJS"),
);
