// Builds the reference as pages of the site, one for each entry.

import options from "../typedoc.config.mjs";

/** @type {import("typedoc").TypeDocOptions} */
export default {
  ...options,
  entryPoints: options.entryPoints.map((path) => `../${path}`),
  tsconfig: "../scripts/tsconfig.reference.json",
  plugin: [...options.plugin, "./node_modules/typedoc-plugin-markdown/dist/index.js"],
  out: ".pages/reference",
  entryFileName: "index",
  router: "module",
  // Two headings of a page may differ in case only, so their anchors are written beside them.
  useCustomAnchors: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
};
