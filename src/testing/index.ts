// The entry `turnwright/testing`: scripted and recorded models, a test clock, recorded events, single tool calls, and conformance
// suites. It works with any test runner.

export { type Cassette, memoryCassette } from "./cassettes/cassette.ts";
export type { CassetteRecord, CutLine } from "./cassettes/cassette.ts";
export { type RecordOptions, recordTo } from "./cassettes/record-to.ts";
export { replayFrom, type ReplayOptions } from "./cassettes/replay-from.ts";
export {
  type CallOptions,
  chunk,
  details,
  endEarly,
  fail,
  failInBand,
  type FailureFacts,
  finish,
  heartbeat,
  type MockCall,
  type MockPart,
  type MockMessage,
  providerMetadata,
  reasoning,
  refusal,
  stall,
  text,
  type TextOptions,
  thoughtLog,
  toolCall,
  usage,
  wait,
} from "./mock-parts.ts";
export { conversationStoreSuite, type ConversationStoreSuiteSetup } from "./conversation-store-suite.ts";
export { createMockProvider, type MockOptions, type MockProvider, type MockScript } from "./mock-provider.ts";
export {
  createScenarioProvider,
  type ProviderScenario,
  providerScenarios,
  type ScenarioCall,
  type ScenarioReply,
  scenarioTool,
} from "./provider-scenarios.ts";
export { type ProviderFixture, providerSuite, type ProviderSuiteSetup } from "./provider-suite.ts";
export { journalSuite } from "./journal-suite.ts";
export type { JournalSuiteSetup } from "./journal-steps.ts";
export { expectPrefix } from "./expect-prefix.ts";
export { expectReplays } from "./expect-replays.ts";
export type { ChatOddity } from "../services/oddities.ts";
export type { StrictRefusal, StrictRequest } from "./strict/answer-request.ts";
export type { StrictServiceKind } from "./strict/kinds.ts";
export type { StrictServer } from "./strict/serve-strict.ts";
export { type StrictAnswers, type StrictOptions, type StrictService, strictService } from "./strict/strict-service.ts";
export { type EventRecording, type EventsByType, recordEvents } from "./record-events.ts";
export { type RegistryFixture, registrySuite, type RegistrySuiteSetup } from "./registry-suite.ts";
export { runTool, type RunToolOverrides } from "./run-tool.ts";
export type { Patience, SuiteCheck } from "./suite-check.ts";
export { createTestClock, type TestClock } from "./test-clock.ts";
export type { CallFields, ToolContextOverrides } from "./run-tool.ts";
