// The language of the page, for Intl: with the page's digits, even if the language has others.
export const LOCALE = `${document.documentElement.lang}-u-nu-latn`;
