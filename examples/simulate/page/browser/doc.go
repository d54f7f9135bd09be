// Package browser opens the page that simulate writes in a headless Chromium. It is a separate module because of what
// drives the browser.
package browser
