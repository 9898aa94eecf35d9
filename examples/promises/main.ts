// Keeps the four promises of the README, and prints what happened. `npm run docs:sync` draws it.

import { printStrip } from "./strip.ts";
import { strips } from "./strips.ts";

for (const play of Object.values(strips)) console.log(`${printStrip(await play())}\n`);
