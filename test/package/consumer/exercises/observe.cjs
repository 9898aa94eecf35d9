// Spans of a run, through the API of OpenTelemetry and a custom tracer, and the diagnostics channels of a run.

const assert = require("node:assert/strict");
const { subscribe, unsubscribe } = require("node:diagnostics_channel");

exports.imports = ["@opentelemetry/api"];

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { diagnostics, runChannel, tracing } = await load("turnwright/observe");
  const { createMockProvider, text } = await load("turnwright/testing");
  const { trace } = await load("@opentelemetry/api");
  const names = [];
  const tracerProvider = {
    getTracer: (...asked) => {
      const tracer = trace.getTracer(...asked);
      return {
        startSpan: (name, ...rest) => {
          names.push(name);
          return tracer.startSpan(name, ...rest);
        },
        startActiveSpan: tracer.startActiveSpan.bind(tracer),
      };
    },
  };
  const options = { provider: createMockProvider([text("Hello.")]), messages: [{ role: "user", content: "Hi." }] };
  const result = await runToolLoop({ ...options, middleware: [tracing({ agentName: "app", tracerProvider })] });
  assert.equal(result.text, "Hello.");
  assert.deepEqual(names, ["invoke_agent app", "chat mock-model"]);

  const runIds = [];
  const note = ({ runId }) => runIds.push(runId);
  const channel = `tracing:${runChannel}:asyncEnd`;
  subscribe(channel, note);
  const other = { ...options, provider: createMockProvider([text("Hello.")]), runId: "r1" };
  await runToolLoop({ ...other, middleware: [diagnostics()] });
  unsubscribe(channel, note);
  assert.deepEqual(runIds, ["r1"]);
};
