import { describe, expect, it } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";
import { findShown } from "../../test/redaction/find-shown.ts";

describe("redactSecrets: lists, pairs and sentences", () => {
  it.for<[what: string, text: string, clean: string]>([
    [
      "a Telegram bot token in a URL",
      "https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz1234567/x",
      "https://api.telegram.org/bot[redacted]/x",
    ],
    [
      "an Authorization header with quoted values",
      'Authorization: Digest username="u", response="0123456789abcdef"\nHost: x',
      "Authorization: [redacted]\nHost: x",
    ],
    [
      "an Authorization header with quoted values in a command",
      `curl -H 'Authorization: Digest username="u", response="0123456789abcdef"' https://x.test`,
      "curl -H 'Authorization: [redacted]' https://x.test",
    ],
    [
      "an Authorization header with quoted values in JSON",
      JSON.stringify({ line: 'Authorization: Hawk id="a", mac="0123456789abcdef"', n: 1 }),
      '{"line":"Authorization: [redacted]","n":1}',
    ],
    [
      "a JSON list under a credential name",
      '{"authorization":["abcdefgh12345678"],"n":1}',
      '{"authorization":["[redacted]"],"n":1}',
    ],
    [
      "several values under a credential name",
      '{"set-cookie":[ "sid=abcdefgh; Path=/", "b=2345678" ],"n":["a"]}',
      '{"set-cookie":[ "[redacted]" ],"n":["a"]}',
    ],
    [
      "a list under a credential name inside a JSON string",
      JSON.stringify({ body: JSON.stringify({ api_keys: [1], apiKey: ["9f8e7d6c"] }) }),
      String.raw`{"body":"{\"api_keys\":[1],\"apiKey\":[\"[redacted]\"]}"}`,
    ],
    [
      'the field "value" if an earlier field "key" names a credential',
      '{"key":"api_key","value":"abcdefgh12345678"}',
      '{"key":"api_key","value":"[redacted]"}',
    ],
    [
      "the value field after a name field inside a JSON string",
      JSON.stringify({ body: JSON.stringify([{ name: "Authorization", value: "Token abcdefgh" }]) }),
      String.raw`{"body":"[{\"name\":\"Authorization\",\"value\":\"[redacted]\"}]"}`,
    ],
    [
      'the field "value" if a later field "name" names a credential',
      "{ value: 'abcdefgh12345678', name: 'x-api-key' }",
      "{ value: '[redacted]', name: 'x-api-key' }",
    ],
    [
      "the value attribute after a key attribute in XML",
      '<add key="ApiKey" value="abcdefgh12345678"/>',
      '<add key="ApiKey" value="[redacted]"/>',
    ],
    ["a Bedrock key", `ABSK${"QmVkcm9ja0FQSUtleS1h".repeat(3)}MA== denied`, "[redacted] denied"],
    ["a short-term Bedrock key", "for bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t/x", "for [redacted]"],
    [
      'a Gemini key that begins with "AQ."',
      "API key AQ.Ab8RN6JxK2mQ0zX9wV7uT5sR3qP1oN8 was rejected",
      "API key [redacted] was rejected",
    ],
    ["a Vercel key", "bad vck_1aB2cD3eF4gH5iJ6kL7mN8oP9qR0", "bad [redacted]"],
    ["a Fireworks key", "bad fw_3ZabcDEF123ghiJKL456mnoP", "bad [redacted]"],
    ["a Voyage key", "bad pa-1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT", "bad [redacted]"],
    ["an API key in a sentence", "The API key is abcdefgh12345678.", "The API key is [redacted]."],
    ["a quoted token in a sentence", "your token was 'abcdefgh12345678'", "your token was '[redacted]'"],
    ["a password joined to the -u option", "curl -s -uapp:hunter2 https://x.test", "curl -s -uapp:[redacted] https://x.test"],
  ])("redacts %s", ([, text, clean]) => {
    expect(redactSecrets(text)).toBe(clean);
    expect(redactSecrets(clean)).toBe(clean);
    expect(findShown(text, clean)).toEqual([]);
  });

  it.for([
    '{"fieldErrors":{"password":["Must be at least 8 characters","Required"]}}',
    '{"required":["password","api_key"],"token":[1,2]}',
    '{"name":"password","type":"string"}',
    '{"name":"city","value":"Oslo 2026"}',
    '<add key="PageSize" value="1234567890"/>',
    "The API key is missing, the token is expired and the password was changed.",
    "The key is 'composite2024'",
    "build -url:https://x.test -utf8:true",
    "spa-2026-brochure-final-version pa-summary-of-2026-in-words",
    "AQ. is no key, nor is ABSK",
  ])("leaves %j unchanged", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });
});
