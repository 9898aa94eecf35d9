// Plays all features with the library that the first argument names, and sends the cells to the parent process.
import { features } from "./features.js";

const { library } = /** @type {{ library: import("./script.js").Library }} */ (await import(`./${process.argv[2]}.js`));

// A program that simulates the death of its process may leave a rejected promise behind.
process.on("unhandledRejection", () => {});

/** @type {Record<string, string>} */
const cells = {};
for (const { name } of features) cells[name] = (await library[name]?.()) ?? "-";
process.send?.(cells, () => process.exit(0));
