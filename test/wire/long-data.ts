// Reads base64 text of 8 MB: that of an image, and that in the metadata of a provider. Prints what was found.

import { estimateMetadata } from "../../src/shared/estimate-media.ts";
import { locateMedia } from "../../src/shared/media-source.ts";

const data = `iVBORw0KGgo${"A".repeat(2 ** 23 - 11)}`;
const { kind } = locateMedia({ type: "image", mediaType: "image/png", data });
console.log(kind, estimateMetadata({ mediaType: "image/png", data }) < data.length / 4);
