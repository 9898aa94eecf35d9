import { type LoopOptions, maskResults, runToolLoop } from "turnwright";
import { type LoggedRun, parseRunLog, withRunLog } from "turnwright/inspect";
import { createMockProvider, createTestClock, text, toolCall, usage } from "turnwright/testing";
import type { Message, Provider, ModelRequest } from "turnwright";
import { lookUp } from "../log-run.ts";
