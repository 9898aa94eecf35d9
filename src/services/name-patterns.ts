// Patterns that both the quirks and the rules of a service use.

/**
 * Matches valid names of tool parameters: `tools.0.custom.input_schema.properties: Property keys should match pattern
 * '^[a-zA-Z0-9_.-]{1,64}$'` (github.com/anthropics/claude-code/issues/79418, github.com/microsoft/azure-devops-mcp/issues/317).
 */
export const parameterNames: RegExp = /^[\w.-]{1,64}$/;

export const newerKimi: RegExp = /kimi-(?:k2\.[5-9]|k[3-9]|for-coding)|^k[3-9]/i;

export const alwaysThinkingKimi: RegExp = /kimi-(?:k2\.[7-9]|k2-thinking|for-coding)/i;
