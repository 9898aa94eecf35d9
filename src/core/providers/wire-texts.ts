// Texts that adapters add to a request, because some services refuse the conversation without them.

/** Sent as a user message before a conversation that starts with an assistant message. */
export const openingText = "(The conversation begins.)";

/** Sent as a user message after a conversation that ends with an assistant message. */
export const continueText = "Continue.";

/** Sent as an assistant message between tool results and a user message. */
export const resultsReadText = "I have read the results.";
