// Measures all rows with the library that the first argument names, and sends the cells to the parent process.
import { features } from "./features.js";

const { library } = /** @type {{ library: import("../agents/script.js").Library }} */ (await import(`./${process.argv[2]}.js`));

/** @type {Record<string, string>} */
const cells = {};
for (const { name } of features) cells[name] = (await library[name]?.()) ?? "-";
if (process.send === undefined) console.log(cells);
process.send?.(cells, () => process.exit(0));
