// The entry `turnwright/cache`: a result cache that keeps its texts in a directory. For Node only.

export { directoryStore } from "./directory-store.ts";
