package main

import (
	"strings"

	"github.com/evictkit/evictkit/examples/evictsim/page"
)

// page is the drill as its page shows it, which is what the screen shows.
func (a *assessment) page() *page.Drill {
	tableOf := func(c *columns) page.Table { return page.Table{Titles: c.titles, Rows: c.rows} }
	d := &page.Drill{
		Title: a.title(), Headline: a.Headline, Helps: a.Helps, Advice: a.Advice, Apply: a.Apply, Losses: tableOf(a.lossTable()), NoAlarm: noAlarm + ".", ApplyTitle: strings.TrimSuffix(howToApply, ":"),
		PlayTitle: howToPlay, Play: a.Play, NotSimulated: a.notSimulated(), Charts: "The worst loss: " + a.worst.Name,
	}
	if alarms := a.alarmTable(); len(alarms.rows) > 0 {
		of := tableOf(alarms)
		d.Alarms = &of
	}
	d.Losses.Note = a.starts()
	settings, title, note := a.settingTable()
	d.Settings = tableOf(settings)
	d.Settings.Title, d.Settings.Note = title, note
	for i := range a.Worst {
		d.Worst = append(d.Worst, a.Worst[i].page())
	}
	return d
}
