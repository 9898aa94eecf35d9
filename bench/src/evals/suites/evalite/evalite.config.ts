import { defineConfig } from "evalite/config";
import { createInMemoryStorage } from "evalite/in-memory-storage";
import { trialMs } from "../../script.js";

export default defineConfig({ testTimeout: trialMs, storage: createInMemoryStorage });
