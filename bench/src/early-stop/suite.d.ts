export declare const trials: number;
export declare const passRate: number;
export declare const rates: readonly number[];
export declare function createCases(seed: number): readonly { readonly id: string; readonly outcomes: readonly boolean[] }[];
