// The `turnwright/testing` entry point: scripted and recorded models, a test clock, recorded events, single tool calls and conformance
// suites, for any test runner.

export { type Cassette, memoryCassette } from "./cassettes/cassette.ts";
export type { CassetteRecord } from "./cassettes/cassette.ts";
export { recordTo } from "./cassettes/record-to.ts";
export { replayFrom } from "./cassettes/replay-from.ts";
export {
  chunk,
  details,
  endEarly,
  fail,
  failInBand,
  finish,
  heartbeat,
  type MockPart,
  type MockMessage,
  providerMetadata,
  reasoning,
  refusal,
  stall,
  text,
  thoughtLog,
  toolCall,
  usage,
  wait,
} from "./mock-parts.ts";
export { conversationStoreSuite } from "./conversation-store-suite.ts";
export { createMockProvider, type MockProvider, type MockScript } from "./mock-provider.ts";
export { createScenarioProvider, type ProviderScenario, providerScenarios, scenarioTool } from "./provider-scenarios.ts";
export { providerSuite } from "./provider-suite.ts";
export { journalSuite } from "./journal-suite.ts";
export { expectPrefix } from "./expect-prefix.ts";
export { expectReplays } from "./expect-replays.ts";
export { type StrictService, strictService } from "./strict/strict-service.ts";
export { type EventRecording, recordEvents } from "./record-events.ts";
export { registrySuite } from "./registry-suite.ts";
export { runTool } from "./run-tool.ts";
export type { SuiteCheck } from "./suite-check.ts";
export { createTestClock, type TestClock } from "./test-clock.ts";
