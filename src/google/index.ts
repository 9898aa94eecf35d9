export type { GoogleGenerateContentOptions } from "./generate-options.ts";
export { googleGenerateContent } from "./google-generate-content.ts";
