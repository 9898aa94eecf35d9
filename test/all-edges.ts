// Loads what a program gets that imports `turnwright`: some tests import single modules only.

import { explainErrors } from "../src/core/all-edges.ts";
import { enableJournals } from "../src/core/loop/replay/enable-journals.ts";

explainErrors();
enableJournals();
