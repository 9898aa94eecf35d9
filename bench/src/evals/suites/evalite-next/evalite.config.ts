import { defineConfig } from "evalite-next/config";
import { trialMs } from "../../script.js";

export default defineConfig({ testTimeout: trialMs });
