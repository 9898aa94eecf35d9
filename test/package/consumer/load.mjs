// Imports from the folder that this file is in.

export const load = (specifier) => import(specifier);
