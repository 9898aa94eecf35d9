// Imports packages that are installed next to this file.

export const load = (specifier) => import(specifier);
