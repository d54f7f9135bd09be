// Package page opens the page that simulate writes in a headless Chromium. It is here, and not beside the page, so that
// who installs simulate does not need what drives the browser.
package page
