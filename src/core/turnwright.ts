// The entry `turnwright`: its exports, with the full messages of errors and the code that reads journals. Other entries import
// ./index.ts, because a bundle with them must not contain all of this.

import { enableJournals, explainErrors } from "./index.ts";

export * from "./index.ts";

explainErrors();
enableJournals();
