/** The page without logs: HTML with all its scripts and styles. `npm run build:page` writes it to template.js. */
export declare const template: string;
