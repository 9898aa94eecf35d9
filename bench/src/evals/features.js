// The rows of the table of evaluations. The program of each library measures one row at a time.
import { budget, price, trialMs, trials } from "./script.js";

/** @type {readonly { readonly name: string, readonly title: string }[]} */
export const features = [
  { name: "lines", title: "Lines of code of the suite and its configuration, without the agent" },
  { name: "trials", title: `6 cases with ${trials} trials each: trials that ran, and requests to the model` },
  { name: "rate", title: "A flaky case passes in 3 of 5 trials: what the report says about it" },
  { name: "passHat", title: `pass^${trials} in the report` },
  { name: "flaky", title: "Flaky cases that the report names" },
  {
    name: "silence",
    title: `A model never answers, with a limit of ${trialMs / 1_000} s: trials with this error that the report names, and aborted requests`,
  },
  { name: "stranger", title: "The agent throws in one case: trials of 4 other cases that still got a verdict" },
  { name: "threw", title: "How a trial that threw counts" },
  { name: "world", title: "A fresh world for each trial: worlds that were made and removed" },
  { name: "budget", title: `A budget of $${budget.toFixed(2)}, at $${price} a request: requests` },
  { name: "early", title: "Stopping early: trials" },
  { name: "replay", title: "Failed trials are checked again: requests to the model" },
  { name: "compare", title: "A new version breaks one case: what the comparison with the old one says" },
  { name: "junit", title: "JUnit report" },
  { name: "markdown", title: "Markdown report" },
  { name: "page", title: "HTML page" },
  { name: "watch", title: "A file changes: the suite runs again (watch mode)" },
  { name: "judges", title: "Ready-made scorers and judges" },
  { name: "live", title: "Scores runs outside of evaluations, such as those of users" },
  { name: "packages", title: "Packages that npm installs with the library" },
  { name: "time", title: "Time of the whole suite, wall" },
];
