// The language of the page, for Intl: with digits as the page writes them, also where its language has others.
export const LOCALE = `${document.documentElement.lang}-u-nu-latn`;
