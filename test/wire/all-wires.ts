import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { responses } from "./responses-script.ts";
import type { Wire } from "./wire.ts";

export type { Scripted, ScriptedCall } from "./scripted.ts";
export type { Wire } from "./wire.ts";

export const wires: readonly Wire[] = [chat, responses, messages, generate];
