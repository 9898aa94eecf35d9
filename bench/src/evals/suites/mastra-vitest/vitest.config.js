import { defineConfig } from "vitest/config";
import { trialMs } from "../../script.js";

export default defineConfig({ test: { include: ["support.eval.js"], testTimeout: trialMs } });
