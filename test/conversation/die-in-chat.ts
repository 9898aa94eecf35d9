// A program that sends a message, and kills itself during the run.

import { type Life, liveAndDie } from "./chat-process.ts";

const life: Life = JSON.parse(process.argv[2] ?? "");
void liveAndDie(life);
